# Storage: messages of Alibaba's distributed block storage in 2019, as published with the HPCC work
# (Li et al., SIGCOMM 2019, traffic generator of its simulator). Two thirds are at most 8 KB, few are
# large. Mean 41 KB.
# bytes      probability of at most so many
0            0
4000         0.2293
8000         0.6921
16000        0.8061
32000        0.9047
64000        0.9353
128000       0.9677
256000       0.9753
2000000      1
