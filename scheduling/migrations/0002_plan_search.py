from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0001_spares_review")]

    operations = [
        migrations.CreateModel(
            name="PlanSearch",
            fields=[
                ("epoch", models.CharField(max_length=32, primary_key=True, serialize=False)),
                ("until", models.BigIntegerField()),
                ("tried", models.TextField()),
            ],
        ),
    ]
