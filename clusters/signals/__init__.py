"""What monitoring says of nodes, read into signals: kernel logs, DCGM, Alertmanager, NVSentinel, Kubernetes, Slurm, nvidia-smi."""
