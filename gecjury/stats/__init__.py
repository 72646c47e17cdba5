"""Statistics over arrays: correlations, preferences, intervals, tests, rankings.

Where there are two rules for the same thing, each applies in a different place, for a reason given
here.

p-values
    Between metrics p is counted: it is the share of permutations at least as extreme as the
    observed one, which is included in the count (`permutation.share_at_least`). With 10,000
    permutations that is fine enough for Holm's correction over 66 pairs, and correlations over a
    dozen systems do not have a normal tail.
    Between systems (`rank`, `diff`) p comes from a normal curve where fewer than ten permutations
    are beyond the observed difference, but never below the least that all swaps can give
    (`permutation.tail_p`). Corpus scores cost more, so there are only 1,000 permutations, and their
    differences are sums of many small parts. Where scores are missing, tests compare what both
    have; a difference shown with the other sign is not significant (`permutation.p_of_order`).
    Inside soft pairwise accuracy p is one-sided, and equal sums count one half
    (`soft_accuracy.confidence`): p measures how sure an order is and rejects nothing.

Correction
    Holm's, over all pairs of one table, one level and one statistic (`permutation.holm`).

Clusters
    Metrics are clustered as in WMT's metrics task: a new cluster begins with the first metric that
    is significantly worse than a member of the current one (`permutation.cluster_ranks`).
    Systems are clustered as in WMT's translation task: a border lies where every rank range above
    it ends before all those below it begin (`permutation.wmt_clusters`), since `rank` prints the
    ranges.

Intervals
    Percentiles of the bootstrap's draws (`bootstrap.interval`). Figures that compare a metric with
    people, and differences of such figures, are corrected for bias, since draws of a correlation
    are lower than the correlation itself. Scores of systems, differences of scores, shares and
    mean changes are means or nearly so, and have plain percentiles. Correlations of MAEGE also
    have plain percentiles: they are computed from many texts, so their draws are only slightly
    lower.

Draws
    Whole sentences are drawn, and also systems where a figure is meant to hold for other systems
    (`bootstrap.make_resampled`, `sentence_draws`). Sources of judged edits are drawn as counts
    (`bootstrap.group_counts`: the same distribution from another stream of random numbers, without
    indices in memory). Where several benchmarks share sources, draws stay within the parts that are
    shared (`bootstrap.sentence_draws`). Sizes other than that of the data are drawn for one purpose
    only: to measure how standard errors fall (`sizes.Quantity.errors`).
"""
