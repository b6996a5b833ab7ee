import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { type SignatureResult, verifyCard } from "../../../src/card/signing/verify.js";
import { comparableHost } from "../../../src/client/hosts.js";
import { keySetsOf } from "../../../src/examine/signatures.js";
import { relayFetchOf } from "../api/relay.js";
import { agentWords } from "../texts/agents.js";
import { ErrorNote } from "../ui/error.js";
import { Badge, Button, Note, Skeleton, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import type { ReceivedCard } from "./card.js";

interface SignaturesProps {
  readonly agent: string;
  readonly card: ReceivedCard;
}

/** The signatures of a card, verified with the keys that they name, as far as those are trusted. */
export function Signatures({ agent, card: { found } }: SignaturesProps): ReactNode {
  const [trusted, setTrusted] = useState<readonly string[]>([]);
  const { card, url } = found;
  const named = keySetsOf(card);
  const own = named.filter((each) => url !== undefined && comparableHost(each) === comparableHost(url));
  const foreign = named.filter((each) => !own.includes(each) && !trusted.includes(each));
  const jku = [...own, ...trusted];
  const query = useQuery({
    queryKey: ["signatures", agent, found.text, jku],
    queryFn: () => verifyCard(found.text ?? "{}", { jku, fetch: relayFetchOf(agent) }),
    enabled: card.signatures.length > 0,
    retry: false,
    staleTime: Infinity,
    structuralSharing: false,
  });
  const { checks: texts } = agentWords;
  if (card.signatures.length === 0) {
    return (
      <section className={`${ui.card} ${css.section}`}>
        <h2>{texts.signatures}</h2>
        <p className={ui.soft}>{texts.unsigned}</p>
      </section>
    );
  }
  return (
    <section className={`${ui.card} ${css.section}`}>
      <h2>{texts.signatures}</h2>
      {query.isPending && <Skeleton lines={2} />}
      {query.isError && <ErrorNote error={query.error} />}
      <ul className={css.lines}>
        {query.data?.signatures.map((result) => (
          <Signature key={result.index} result={result} />
        ))}
      </ul>
      {query.data?.verified === true && query.data.uncovered.length > 0 && (
        <Note tone="wait">{texts.uncovered(query.data.uncovered.slice(0, 12).join(", ").slice(0, 600))}</Note>
      )}
      {own.length > 0 && <p className={`${ui.soft} ${ui.small}`}>{texts.ownKeys}</p>}
      {foreign.slice(0, 5).map((each) => (
        <Note key={each} tone="wait">
          <p>{texts.trustHint(new URL(each).host)}</p>
          <Button onClick={() => setTrusted([...trusted, each])}>{texts.trust(new URL(each).host)}</Button>
        </Note>
      ))}
    </section>
  );
}

function Signature({ result: { kid, alg, valid, trustedBy, why } }: { readonly result: SignatureResult }): ReactNode {
  const { checks: texts } = agentWords;
  return (
    <li className={css.line}>
      <Badge tone={valid ? "good" : "bad"}>{valid ? texts.verified : texts.notVerified}</Badge>
      <div>
        <p>
          {kid === undefined ? texts.signedByUnknown : texts.signedBy(kid.slice(0, 200))}{" "}
          {alg !== undefined && <span className={`${ui.soft} ${ui.small}`}>{alg.slice(0, 20)}</span>}
        </p>
        {valid && trustedBy !== undefined && <p className={ui.soft}>{texts.keysFrom(trustedBy.slice(0, 300))}</p>}
        {!valid && <p className={css.fault}>{why.slice(0, 600)}</p>}
      </div>
    </li>
  );
}
