import { type ReactNode, useContext, useMemo } from "react";
import type { Message, Part } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { ContentContext } from "../content/content-context.js";
import { PartsView } from "../content/parts-view.js";
import { talkWords } from "../texts/talk.js";
import { classes, css as ui } from "../ui/parts.js";
import type { Saying } from "./messages-of.js";
import { SentCard } from "./sent-card.js";
import css from "./talk.module.css";

interface BubbleProps {
  readonly message: Message;
  readonly saying: Saying;
  /** Shows a data part of the agent in another way, such as a form. */
  readonly special?: ((part: Part) => ReactNode | undefined) | undefined;
  /** The message that an own one answers. */
  readonly question?: Message | undefined;
}

/** One message. */
export function Bubble({ message, saying, special, question }: BubbleProps): ReactNode {
  const outer = useContext(ContentContext);
  const place = useMemo(
    () => ({
      ...outer,
      special: saying === "own" ? (part: Part) => <SentCard part={part} question={question} /> : special,
    }),
    [outer, saying, special, question],
  );
  return (
    <div className={classes(css.bubble, saying === "own" && css.own)}>
      <span className={ui.hidden}>{saying === "own" ? talkWords.you : talkWords.agent}</span>
      <ContentContext value={place}>
        <PartsView parts={message.parts} of="message" />
      </ContentContext>
    </div>
  );
}

/** Tells that something goes on. */
export function WorkingLine({ text }: { readonly text: string }): ReactNode {
  return (
    <div className={css.working}>
      <span className={css.spinner} aria-hidden="true" />
      <span>{text || talkWords.working}</span>
    </div>
  );
}
