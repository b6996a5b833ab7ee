import { Scissors } from "lucide-react";
import type { ReactNode } from "react";
import { talkWords } from "../texts/talk.js";
import css from "./talk.module.css";
import type { Cut } from "./talk-view.js";

/** Notes on ended connections, and how the stream resumed. */
export function CutNotes({ cuts }: { readonly cuts: readonly Cut[] }): ReactNode {
  if (cuts.length === 0) return undefined;
  return (
    <ul className={css.cuts}>
      {cuts.map((cut, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: cuts are only added.
        <li key={at} className={css.cut}>
          <Scissors size={14} aria-hidden="true" />
          <span>{sentencesOf(cut).join(" · ")}</span>
        </li>
      ))}
    </ul>
  );
}

function sentencesOf({ why, before, eventsBefore, resumed, eventsSince, now }: Cut): readonly string[] {
  const sentences: string[] = [talkWords.cutOn[why]];
  if (why === "purpose") sentences.push(talkWords.cutBefore(eventsBefore));
  if (before !== undefined) sentences.push(talkWords.cutAt(before));
  if (resumed === undefined) return [...sentences, talkWords.cutWaits];
  const isExact = resumed === "after" && before !== undefined;
  sentences.push(isExact ? talkWords.resumedAfter(before) : talkWords.resumedWhole, talkWords.cutSince(eventsSince));
  if (now !== undefined) sentences.push(talkWords.cutNow(now));
  return sentences;
}
