import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { agentWords } from "../texts/agents.js";
import { sentenceOf } from "../ui/error.js";
import { Button, css, Note, PageHead, Skeleton } from "../ui/parts.js";
import { finishSignIn, NoSignIn } from "./oauth.js";

/** The address that the issuer called, which is valid once. */
let running: { readonly address: string; readonly done: Promise<string> } | undefined;

/** Ends the sign-in of an address once, however often the page renders. */
function finished(address: string): Promise<string> {
  if (running?.address !== address) running = { address, done: finishSignIn(new URL(address)) };
  return running.done;
}

/** The page that issuers send a person back to. It stores the tokens and goes to the agent. */
export default function CallbackPage(): ReactNode {
  const navigate = useNavigate();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    finished(location.href).then(
      (agent) => void navigate({ to: "/agent", search: { url: agent, tab: "login" }, replace: true }),
      (thrown: unknown) => {
        // The code of a failed sign-in stays neither in the address nor in the history.
        history.replaceState(history.state, "", location.pathname);
        setError(thrown);
      },
    );
  }, [navigate]);
  const { callback } = agentWords;
  return (
    <div className={css.page}>
      <PageHead title={error === undefined ? callback.title : callback.failed} />
      {error === undefined ? (
        <Skeleton />
      ) : (
        <>
          <Note tone="bad">{error instanceof NoSignIn ? callback.unknown : sentenceOf(error)}</Note>
          <div className={css.row}>
            <Button onClick={() => void navigate({ to: "/agents" })}>{callback.back}</Button>
          </div>
        </>
      )}
    </div>
  );
}
