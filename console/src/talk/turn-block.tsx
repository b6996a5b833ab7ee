import { RotateCcw } from "lucide-react";
import type { ReactNode } from "react";
import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { AgentError } from "../agents/agent-error.js";
import { useContentPlace } from "../content/content-context.js";
import { talkWords } from "../texts/talk.js";
import { Badge, Button, css as ui } from "../ui/parts.js";
import { Bubble, WorkingLine } from "./bubble.js";
import css from "./talk.module.css";
import type { TalkStore } from "./talk-store.js";
import type { Turn } from "./talk-view.js";

/** A message without a task: on its way, answered by a message, or failed. */
export function TurnBlock({ turn, store }: { readonly turn: Turn; readonly store: TalkStore }): ReactNode {
  const { message, reply, phase, error } = turn;
  const { agent = "" } = useContentPlace();
  return (
    <article className={css.block}>
      <Bubble message={message} saying="own" />
      {reply !== undefined && <Bubble message={reply as Message} saying="said" />}
      {phase === "running" && (
        <div className={ui.row}>
          <WorkingLine text={talkWords.sending} />
          <Button kind="plain" onClick={() => store.stopWaitingFor(turn.id)}>
            {talkWords.stopWaiting}
          </Button>
        </div>
      )}
      {phase === "failed" && <AgentError agent={agent} error={error ?? talkWords.unknownArrival} />}
      <footer className={css.blockFoot}>
        {reply !== undefined && <Badge>{talkWords.messageOnly}</Badge>}
        {phase === "left" && reply === undefined && <span className={ui.soft}>{talkWords.left}</span>}
        {phase !== "running" && (
          <Button kind="plain" icon title={talkWords.retry} onClick={() => store.retry(turn)}>
            <RotateCcw size={14} aria-hidden="true" />
          </Button>
        )}
      </footer>
    </article>
  );
}
