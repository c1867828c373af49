"""What launchers need to start a placed job with its ranks in order.

`assignment` reads which nodes a job has, or had in an earlier generation; `formats` writes them as each launcher reads them; `service`
puts the two together.
"""
