"""Members of public classes that are no promise to users, and are not on the pages of the reference.

Parts of everlearn call them across folders, so they have no underscore.
"""

import re

_ANYWHERE = """
    EXACT check_batch_size check_store contributions describe_decision draw_rows draw_size drops_large
    feature_ranks find_ids forget_requests free_margin grows_classes has_values headers_skipped
    is_random_sample keep_all_rows kept_inputs keys_of keys_of_values known_ids labels_of last_id
    learn_validated missing_ids n_candidates name_of note_on notes outcome_of predict_with_shares
    prefers_second question_counts records_of retrain rows_by_number score_validated searches_all set_notes
    statistics stored_ids take_back takes_validated_rows unchanged validate_rows violations with_rows
"""
# What a query strategy says about itself matters to whoever writes one: the base classes have it.
_OF_STRATEGIES = """
    asks_every_row candidates cold_start_labels explore_every max_batch_size needs_labels needs_pool
    reask_every reasons rows_per_question uses_margin uses_scores_only utilities_from_scores
"""
INTERNAL = frozenset(_ANYWHERE.split())
OF_STRATEGIES = frozenset(_OF_STRATEGIES.split())
BASES_OF_STRATEGIES = ("QueryStrategy", "PoolQueryStrategy", "StreamQueryStrategy")
CONCRETE_STRATEGIES = ("Auto", "AutoMargin", "Gradient", "Margin", "Random", "Submodular")
CONCRETE_STRATEGIES += ("All", "RampRegion", "RecentMargin")
SHOWN = {("Progress", "free_margin")}  # here it is what a stopping rule reads


def is_internal(owner: str, name: str) -> bool:
    """Whether a member of the class with this name is left out."""
    if re.fullmatch(r"get_metadata_routing|set_\w+_request", name):
        return True
    if name in OF_STRATEGIES:
        return owner in CONCRETE_STRATEGIES
    return name in INTERNAL and (owner, name) not in SHOWN
