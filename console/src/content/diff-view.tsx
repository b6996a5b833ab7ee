import { type Change, diffLines, diffWordsWithSpace } from "diff";
import { type ReactNode, useMemo, useState } from "react";
import { contentWords } from "../texts/content.js";
import { Button, classes, css as ui } from "../ui/parts.js";
import css from "./content.module.css";
import { ScrollBox } from "./scroll-box.js";

/** Characters of two texts that are compared. */
const MAX_TEXT = 400_000;

/** Lines around a change that are shown. */
const AROUND = 3;

/** Milliseconds after which two texts count as wholly different. */
const TIMEOUT_MS = 1_500;

interface DiffProps {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** A piece of a line: unchanged, or the words that changed. */
interface Piece {
  readonly text: string;
  readonly changed: boolean;
}

type Line = { readonly kind: "same" | "added" | "removed"; readonly pieces: readonly Piece[] };

/** Changes between two versions of a text, by lines and their words. */
export default function Diff({ name, before, after }: DiffProps): ReactNode {
  const lines = useMemo(() => linesOf(before, after), [before, after]);
  if (lines === undefined) return <p className={css.hint}>{contentWords.tooLargeToCompare}</p>;
  const added = lines.filter(({ kind }) => kind === "added").length;
  const removed = lines.filter(({ kind }) => kind === "removed").length;
  if (added + removed === 0) return <p className={css.hint}>{contentWords.same}</p>;
  return (
    <ScrollBox className={css.diff} label={contentWords.diffLabel(name)}>
      <div className={css.diffHead}>
        <span>{contentWords.addedLines(added)}</span>
        <span>{contentWords.removedLines(removed)}</span>
      </div>
      {groupsOf(lines).map((group, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: groups have no other identity.
        <Group key={at} group={group} />
      ))}
    </ScrollBox>
  );
}

function Group({ group: { lines, isHidden } }: { readonly group: LineGroup }): ReactNode {
  const [isOpen, setOpen] = useState(!isHidden);
  if (!isOpen) {
    return (
      <Button kind="plain" className={css.gap} onClick={() => setOpen(true)}>
        {contentWords.unchanged(lines.length)}
      </Button>
    );
  }
  return lines.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity.
    <LineView key={at} line={line} />
  ));
}

const signs = { same: " ", added: "+", removed: "−" };

function LineView({ line: { kind, pieces } }: { readonly line: Line }): ReactNode {
  return (
    <div className={classes(css.diffLine, kind === "added" && css.isAdded, kind === "removed" && css.isRemoved)}>
      <span aria-hidden="true">{signs[kind]}</span>
      <span>
        {kind !== "same" && <span className={ui.hidden}>{contentWords[kind]} </span>}
        {pieces.map(({ text, changed }, at) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other identity.
          changed ? <mark key={at}>{text}</mark> : <span key={at}>{text}</span>,
        )}
      </span>
    </div>
  );
}

function linesOf(before: string, after: string): readonly Line[] | undefined {
  if (before.length + after.length > MAX_TEXT) return undefined;
  const changes = diffLines(before, after, { timeout: TIMEOUT_MS });
  if (changes === undefined) return undefined;
  const lines: Line[] = [];
  for (let at = 0; at < changes.length; at++) {
    const [change, next] = [changes[at], changes[at + 1]];
    if (change === undefined) continue;
    if (change.removed && next?.added) {
      lines.push(...changedLines(change, next));
      at += 1;
    } else lines.push(...wholeLines(change));
  }
  return lines;
}

const splitLines = (text: string): string[] => text.replace(/\n$/, "").split("\n");

function wholeLines({ value, added, removed }: Change): Line[] {
  const kind = added ? "added" : removed ? "removed" : "same";
  return splitLines(value).map((text) => ({ kind, pieces: [{ text, changed: false }] }));
}

/** Lines in place of others: as many as on the other side are compared word by word. */
function changedLines(removed: Change, added: Change): Line[] {
  const [olds, news] = [splitLines(removed.value), splitLines(added.value)];
  const pairs = olds.length === news.length && olds.length <= 200;
  if (!pairs) return [...wholeLines(removed), ...wholeLines(added)];
  const words = olds.map((old, at) => diffWordsWithSpace(old, news[at] ?? ""));
  const side = (kind: "added" | "removed", other: "added" | "removed"): Line[] =>
    words.map((changes) => ({
      kind,
      pieces: changes.filter((each) => !each[other]).map((each) => ({ text: each.value, changed: each[kind] })),
    }));
  return [...side("removed", "added"), ...side("added", "removed")];
}

interface LineGroup {
  readonly lines: readonly Line[];
  readonly isHidden: boolean;
}

/** Hides unchanged lines that are far from every change. */
function groupsOf(lines: readonly Line[]): readonly LineGroup[] {
  const near = new Uint8Array(lines.length);
  lines.forEach(({ kind }, at) => {
    if (kind !== "same") near.fill(1, Math.max(0, at - AROUND), at + AROUND + 1);
  });
  const groups: { lines: Line[]; isHidden: boolean }[] = [];
  lines.forEach((line, at) => {
    const isHidden = near[at] === 0;
    const last = groups.at(-1);
    if (last?.isHidden === isHidden) last.lines.push(line);
    else groups.push({ lines: [line], isHidden });
  });
  return groups;
}
