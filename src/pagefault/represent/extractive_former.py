"""The former without a model: it proposes the sentences that the extractive summary quotes."""

from __future__ import annotations

from dataclasses import dataclass

from pagefault.engine.former import FormationRequest, Proposal, ProposalKind, Proposals
from pagefault.model.kinds import FormerKind, Level
from pagefault.represent.api import CountTokens, Source, speaker_of
from pagefault.represent.extractive import compress_range


@dataclass(frozen=True, slots=True)
class ExtractiveFormer:
    """Quotes a range, in as many tokens as its summary may have, and proposes no claims: no rule of
    form can tell what holds.
    """

    count: CountTokens
    kind: FormerKind = FormerKind.EXTRACTIVE
    reads_window: bool = False

    def tokens(self, given: FormationRequest) -> int:
        return 0

    async def form(self, given: FormationRequest) -> Proposals:
        """As the protocol says; never waits or fails."""
        sources = {page.page_id: Source.of(page) for page in given.pages}
        made = compress_range(
            list(sources.values()),
            Level.ABSTRACT,
            count=self.count,
            tokens_max=given.tokens_max,
            cited=True,
        )
        proposals = []
        for span in made.spans:
            source = sources[span.page_id]
            words = source.text.encode()[span.start : span.end].decode()
            proposals.append(
                Proposal(
                    kind=ProposalKind.SUMMARY,
                    text=" ".join(words.split()),
                    pages=(span.page_id,),
                    quotes=(words,),
                    speaker=speaker_of(source),
                )
            )
        return Proposals(proposals=tuple(proposals))
