from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0002_plan_search")]

    operations = [migrations.AddField(model_name="plansearch", name="vain", field=models.TextField(default="{}"))]
