"""What all tables share.

command       options, parts, and the order in which things happen
run           one run of a part: settings, results, files, resuming
report        Markdown tables, numbers, paragraphs
statistics    significance tests over data sets
machine       threads, memory, description of the machine
process       functions in a process of their own
data          data sets from EVERLEARN_DATA, scaling
peer, peers   the classifiers that are compared; foreign_peers for LIBSVM and Vowpal Wabbit
worker        one process per peer
timing        interleaved, repeated fits of several peers, and their medians
bare_kernel   kernel values with nothing around them: a lower bound on time
"""
