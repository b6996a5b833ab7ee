import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useSyncExternalStore } from "react";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type A2AClient, clientError } from "../../../src/client/web.js";
import { unknownId } from "../../../src/examine/check.js";
import { agentWords } from "../texts/agents.js";
import { ErrorNote } from "../ui/error.js";
import { absoluteTime } from "../ui/format.js";
import { Button, Facts, Note, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import { claimsOf } from "./claims.js";
import { useAgent } from "./client.js";
import { logins, tokensOf } from "./logins.js";

/** Verdict on a login, by the answer to a harmless call. */
type LoginVerdict = { readonly is: "accepted" | "open" } | { readonly is: "refused"; readonly why: string };

/** Asks an agent whether it takes the login, and shows what the token says of its owner. */
export function WhoAmI({ agent, card }: { readonly agent: string; readonly card: AgentCard }): ReactNode {
  const { data: client, error } = useAgent(agent);
  const ask = useMutation({ mutationFn: async () => client && (await verdictOf(client)) });
  const { login: texts } = agentWords;
  const answer = ask.data;
  const failure = ask.error ?? error;
  return (
    <section className={`${ui.card} ${css.section}`}>
      <h2>{texts.whoAmI}</h2>
      <p className={ui.soft}>{texts.whoAmIHint}</p>
      <div className={ui.row}>
        <Button disabled={client === undefined || ask.isPending} onClick={() => ask.mutate()}>
          {texts.whoAmI}
        </Button>
      </div>
      <div role="status">
        {answer?.is === "refused" && (
          <Note tone="bad">
            <p>
              {texts.refused} {answer.why.slice(0, 600)}
            </p>
            <p>{texts.refusedHint}</p>
          </Note>
        )}
        {answer !== undefined && answer.is !== "refused" && (
          <Note>{card.securityRequirements.length === 0 ? texts.open : texts.accepted}</Note>
        )}
      </div>
      {failure !== null && <ErrorNote error={failure} />}
      <Claims agent={agent} />
    </section>
  );
}

async function verdictOf(client: A2AClient): Promise<LoginVerdict> {
  try {
    await client.getTask({ id: unknownId() });
    return { is: "accepted" };
  } catch (thrown) {
    const { reason, message } = clientError(thrown);
    if (reason === "TASK_NOT_FOUND") return { is: "accepted" };
    if (reason === "UNAUTHENTICATED" || reason === "PERMISSION_DENIED") return { is: "refused", why: message };
    throw thrown;
  }
}

function Claims({ agent }: { readonly agent: string }): ReactNode {
  const login = useSyncExternalStore(logins.subscribe, () => logins.get(agent));
  const own = Object.values(login.schemes).flatMap((each) => (each.kind === "bearer" ? [each.token] : []));
  const claims = [...tokensOf(agent), ...own].map(claimsOf).find((each) => each !== undefined);
  const { login: texts } = agentWords;
  if (claims === undefined) return undefined;
  const { sub, iss, scope, exp } = claims;
  return (
    <>
      <h3>{texts.claims}</h3>
      <p className={`${ui.soft} ${ui.small}`}>{texts.claimsHint}</p>
      <Facts
        rows={[
          sub !== undefined && [texts.subject, sub],
          iss !== undefined && [texts.tokenIssuer, iss],
          scope !== undefined && [texts.tokenScopes, scope],
          exp !== undefined && [texts.expires, absoluteTime(new Date(exp * 1_000))],
        ]}
      />
    </>
  );
}
