import { Link } from "@tanstack/react-router";
import { Braces } from "lucide-react";
import { memo, type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { partsOf } from "../../../src/client/web.js";
import { linesOf } from "../../../src/examine/recording/compare.js";
import type { RecordedTurn } from "../../../src/examine/recording/format.js";
import { recordingWords } from "../texts/recording.js";
import { durationText } from "../ui/format.js";
import { Badge, css as ui } from "../ui/parts.js";
import { AnswerLines } from "./answer-lines.js";
import css from "./recording.module.css";
import type { Comparison, Result } from "./use-replay.js";

/** Characters of a message that are shown. */
const MAX_TEXT = 1_000;

interface TurnProps {
  readonly number: number;
  readonly turn: RecordedTurn;
  readonly message: Message;
  readonly comparison: Comparison;
  readonly state: "recorded" | "waiting" | "running" | "over";
  readonly result: Result | undefined;
  readonly exchange: number | undefined;
}

/** A turn: the message, and the recorded answer or what differs from it. It is drawn again when it changes only. */
export const TurnItem = memo(function TurnItem(props: TurnProps): ReactNode {
  const { number, turn, message, comparison, result, exchange } = props;
  const [item, isNear] = useNear<HTMLLIElement>();
  return (
    <li ref={item} className={`${ui.card} ${css.turn}`}>
      <header className={css.turnHead}>
        <h3>{recordingWords.turn(number)}</h3>
        <Verdict {...props} />
        {turn.begins && number > 1 && <Badge>{recordingWords.begins}</Badge>}
        <span className={`${ui.soft} ${ui.small} ${ui.grow}`}>
          {result === undefined
            ? durationText(turn.tookMs)
            : recordingWords.took(durationText(result.tookMs), durationText(turn.tookMs))}
        </span>
        {exchange !== undefined && (
          <Link
            className={`${ui.button} ${ui.plain}`}
            to="/recording"
            search={(now) => ({ ...now, exchange })}
            resetScroll={false}
            aria-label={recordingWords.exchangeOf(number)}
          >
            <Braces size={14} aria-hidden="true" />
            {recordingWords.exchange}
          </Link>
        )}
      </header>
      <p className={css.message}>
        <span className={ui.soft}>{recordingWords.you}</span> {textIn(message)}
      </p>
      {isNear && <AnswerLines label={recordingWords.answer(number)} lines={shownLines(turn, result, comparison)} />}
    </li>
  );
});

function shownLines(turn: RecordedTurn, result: Result | undefined, comparison: Comparison): readonly string[] {
  const differences = result?.differences[comparison] ?? [];
  if (differences.length > 0) return differences;
  return linesOf(turn.answer, comparison === "shape").map((line) => `    ${line}`);
}

/** True for an element that is or was near the window: a thousand answers at once would stop the page. */
function useNear<Element extends HTMLElement>(): readonly [RefObject<Element | null>, boolean] {
  const ref = useRef<Element>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    if (ref.current === null) return;
    const observer = new IntersectionObserver(
      (seen) => {
        if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
        setNear(true);
        observer.disconnect();
      },
      { rootMargin: "1000px" },
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, isNear];
}

function Verdict({ state, result, comparison }: TurnProps): ReactNode {
  if (state === "running") return <Badge tone="busy">{recordingWords.running}</Badge>;
  if (state === "waiting") return <Badge>{recordingWords.waiting}</Badge>;
  if (result === undefined) return undefined;
  const isSame = result.differences[comparison].length === 0;
  return <Badge tone={isSame ? "good" : "bad"}>{isSame ? recordingWords.same : recordingWords.different}</Badge>;
}

function textIn(message: Message): string {
  const texts = partsOf(message).map(({ text, data, file }) => {
    if (file !== undefined) return recordingWords.file(file.name ?? "", file.mediaType ?? "");
    return text ?? JSON.stringify(data);
  });
  return texts.join("\n").slice(0, MAX_TEXT);
}
