import type { ReactNode } from "react";
import content from "../content/content.module.css";
import { ScrollBox } from "../content/scroll-box.js";
import { recordingWords } from "../texts/recording.js";
import { classes, css as ui } from "../ui/parts.js";

/** Lines of an answer that are shown, and characters of each. */
const MAX_LINES = 300;
const MAX_LINE = 2_000;

interface LinesProps {
  readonly label: string;
  /** Lines with their marks, as the comparison returns them. */
  readonly lines: readonly string[];
}

const kinds = { "+": "added", "-": "removed" } as const;

/** The lines of an answer: those that are gone or new, and the others. */
export function AnswerLines({ label, lines }: LinesProps): ReactNode {
  if (lines.length === 0) return <p className={`${ui.soft} ${ui.small}`}>{recordingWords.none}</p>;
  const left = lines.length - MAX_LINES;
  return (
    <ScrollBox className={content.diff} label={label}>
      {lines.slice(0, MAX_LINES).map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity.
        <Line key={at} mark={line.charAt(2)} text={line.slice(4, 4 + MAX_LINE)} />
      ))}
      {left > 0 && <p className={content.hint}>{recordingWords.more(left)}</p>}
    </ScrollBox>
  );
}

function Line({ mark, text }: { readonly mark: string; readonly text: string }): ReactNode {
  const kind = mark === "+" || mark === "-" ? kinds[mark] : undefined;
  return (
    <div
      className={classes(
        content.diffLine,
        kind === "added" && content.isAdded,
        kind === "removed" && content.isRemoved,
      )}
    >
      <span aria-hidden="true">{mark === "-" ? "−" : mark}</span>
      <span>
        {kind !== undefined && <span className={ui.hidden}>{recordingWords[kind]} </span>}
        {text}
      </span>
    </div>
  );
}
