import { resolve } from "node:path";
import { compareAnswers } from "../../../examine/recording/compare.js";
import type { RecordedTurn } from "../../../examine/recording/format.js";
import { replay } from "../../../examine/recording/replay.js";
import type { Context, Run } from "../context.js";
import { field, singleLine } from "../text.js";
import { readRecording, recordedOf, rewrite } from "./recording.js";

/** A turn that was sent again. */
interface Compared {
  readonly turn: number;
  readonly isSame: boolean;
  /** Removed (-) and added (+) lines, with context. */
  readonly difference: readonly string[];
  readonly tookMs: number;
  readonly recordedMs: number;
}

/** `replay`: sends the messages of a recording again, and compares the answers. */
export const run: Run = async (context, [file = ""]) => {
  const path = resolve(context.io.cwd, file);
  const recording = readRecording(path);
  const { out } = context;
  if (recording.isCut) out.warn(`the last line of ${file} is cut, and left out`);
  context.startBudget();
  const { client } = await context.agent();
  const rules = { isShape: context.own("shape").length > 0, clean: (text: string) => out.redactor.text(text) };
  const all: Compared[] = [];
  const answered: RecordedTurn[] = [];
  const { signal } = context;
  for await (const { at, answer, tookMs } of replay(client, recording, { signal, onUpdate: () => context.touch() })) {
    const turn = recording.turns[at] as RecordedTurn;
    answered.push({ ...turn, answer, tookMs });
    const difference = compareAnswers(turn.answer, answer, rules);
    const compared = { turn: at + 1, isSame: difference.length === 0, difference, tookMs, recordedMs: turn.tookMs };
    all.push(compared);
    if (!out.mode.isJson) out.text(formatComparison(compared));
  }
  report(context, client.card.name, all);
  if (context.own("update").length > 0) rewrite(path, await recordedOf(context), answered, rules.clean);
};

function report(context: Context, agent: string, turns: readonly Compared[]): void {
  const differing = turns.filter(({ isSame }) => !isSame).length;
  const { out } = context;
  const text = field("Result", `${turns.length - differing} same, ${differing} different`);
  out.result({ agent, differing, turns }, text);
  if (differing > 0 && context.own("update").length === 0) context.noteFaults();
}

function formatComparison({ turn, isSame, difference, tookMs, recordedMs }: Compared): string {
  const verdict = isSame ? "same" : "different";
  const head = field(`Turn ${turn}`, `${verdict}, ${tookMs} ms (recorded: ${recordedMs} ms)`);
  return head + difference.map((line) => `${singleLine(line)}\n`).join("");
}
