"""Random people and programs: no row is asked twice beyond the overlap, no answer is lost or doubled."""

from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from everlearn._base import persist
from everlearn.serve.service import LearningService, ServiceSettings
from everlearn.stream import NeverEndingLearner
from serve.service_helpers import CLASSES, Clock, answered, rows, set_up

PEOPLE = st.sampled_from(["ada", "bob", "eve"])


class ServiceMachine(RuleBasedStateMachine):
    """The model: who holds what until when, and the last answer of each person for each row."""

    @initialize(overlap=st.sampled_from([1, 2]))
    def start(self, overlap):
        self.clock, self.overlap = Clock(), overlap
        self.service = set_up(
            ":memory:",
            n=15,
            settings=ServiceSettings(overlap_answers=overlap, overlap_fraction=1.0),
            clock=self.clock,
        )
        self.held = {}  # lease id -> (question, person, when it ends)
        self.given = {}  # (row, person) -> kind and label
        self.sent = []  # answers that may be repeated, and their results
        self.n_keys = 0
        self.n_rows = 15

    def alive(self):
        return [entry for entry in self.held.values() if entry[2] > self.clock.now]

    def key(self):
        self.n_keys += 1
        return f"k{self.n_keys}"

    @rule(by=PEOPLE, n=st.integers(1, 4))
    def lease(self, by, n):
        found = self.service.lease_questions(by, n)
        assert (found.empty is None) == bool(found.questions)
        for question in found.questions:
            assert (question.id, by) not in self.given or self.given[question.id, by][0] == "skip"
            labeled = sum(
                row == question.id and given[0] == "label" for (row, _), given in self.given.items()
            )
            others = [entry for entry in self.alive() if entry[0].id == question.id]
            assert all(entry[1] != by for entry in others)
            assert len(others) + labeled < self.overlap
            self.held[question.lease.id] = (question, by, self.clock.now + 90)

    @rule(seconds=st.sampled_from([1, 30, 100]))
    def wait(self, seconds):
        self.clock.now += seconds

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def renew_or_release(self, data):
        lease = data.draw(st.sampled_from(sorted(self.held)))
        question, by, end = self.held[lease]
        if data.draw(st.booleans()):
            released = self.service.release([(lease, question.lease.token)])
            assert released == (end > self.clock.now)
            self.held[lease] = question, by, 0.0
        elif end > self.clock.now:
            assert self.service.renew(lease, question.lease.token) == 90
            self.held[lease] = question, by, self.clock.now + 90

    @precondition(lambda self: self.held)
    @rule(data=st.data(), kind=st.sampled_from(["label", "label", "label", "skip", "unsure"]))
    def answer(self, data, kind):
        """Also late, and also without a lease."""
        question, by, _ = self.held[data.draw(st.sampled_from(sorted(self.held)))]
        label = data.draw(st.sampled_from(CLASSES))
        answer = answered(question, by, self.key(), label, kind)
        result = self.service.answer(by, [answer]).results[0]
        assert result.status in ("learned", "vote", "skipped", "unsure")
        self.given[question.id, by] = kind, answer.label
        self.sent.append((by, answer, result))
        for lease, (other, who, _) in list(self.held.items()):
            if other.id == question.id and who == by:
                self.held[lease] = other, who, 0.0

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def repeat(self, data):
        by, answer, first = data.draw(st.sampled_from(self.sent))
        before = self.service.sequence
        again = self.service.answer(by, [answer]).results[0]
        assert again.status == "replayed"
        assert again.learned_label == first.learned_label
        assert self.service.sequence == before

    @precondition(lambda self: self.given)
    @rule(data=st.data())
    def undo(self, data):
        row, by = data.draw(st.sampled_from(sorted(self.given)))
        self.service.undo(row, by, key=self.key())
        del self.given[row, by]

    @rule(n=st.integers(1, 3))
    def add(self, n):
        self.service.add_rows(rows(n, first=1000 + self.n_rows), by="p", key=str(self.n_rows))
        self.n_rows += n

    @invariant()
    def the_log_has_every_answer_once(self):
        if not hasattr(self, "service"):
            return
        assert self.service.learner.n_rows == self.n_rows
        labels = {pair: label for pair, (kind, label) in self.given.items() if kind == "label"}
        named = sorted({row for row, _ in self.given})
        found = self.service.learner.answers(named) if named else {}
        in_log = {(row, a.by): a.label for row, answers in found.items() for a in answers}
        assert in_log == labels
        assert self.service.history(limit=1).total == len(self.given)
        counts = Counter(row for row, _ in labels)
        assert {row: len(self.service._votes.labels_for(row)) for row in counts} == counts

    def teardown(self):
        if hasattr(self, "service"):
            self.service.close()


ServiceMachine.TestCase.settings = settings(
    max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestService = ServiceMachine.TestCase


def test_a_history_of_many_people_is_a_replay_of_the_log(tmp_path):
    clock = Clock()
    overlap = ServiceSettings(overlap_answers=2, overlap_fraction=0.5)
    with set_up(tmp_path / "store", n=40, settings=overlap, clock=clock) as service:
        for turn in range(40):
            by = ["ada", "bob", "eve"][turn % 3]
            for question in service.lease_questions(by, 2).questions:
                label = CLASSES[(turn + len(str(question.id))) % 2]
                service.answer(by, [answered(question, by, f"{turn}-{question.id}", label)])
                if turn % 5 == 0:
                    service.undo(question.id, by)
            if turn % 7 == 0:
                service.add_rows(rows(2, first=2000 + 10 * turn, labels=turn % 2 == 0), key=str(turn))
        bits = persist.pack(service.learner._state.state())
    with NeverEndingLearner.replay(tmp_path / "store") as again:
        assert persist.pack(again._state.state()) == bits
    with LearningService(tmp_path / "store") as opened:
        assert persist.pack(opened.learner._state.state()) == bits
