# Web search: what the servers of a search engine send each other. The background traffic measured by
# Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, in the points in which the HPCC paper
# (Li et al., SIGCOMM 2019) and most work since then draw it. Mean 1.7 MB; half of the messages are
# below 75 KB, and the tenth above 5 MB carries two thirds of the bytes.
# bytes      probability of at most so many
0            0
10000        0.15
20000        0.20
30000        0.30
50000        0.40
80000        0.53
200000       0.60
1000000      0.70
2000000      0.80
5000000      0.90
10000000     0.97
30000000     1
