import { Check, CircleAlert, Copy, Info, TriangleAlert } from "lucide-react";
import { type ButtonHTMLAttributes, type ReactNode, useSyncExternalStore } from "react";
import { words } from "../texts/words.js";
import { absoluteTime, bytesText, relativeTime } from "./format.js";
import css from "./ui.module.css";
import { useCopied } from "./use-copied.js";

export { css };

/** Joins class names, without those that are off. */
export function classes(...names: readonly (string | false | undefined)[]): string {
  return names.filter((name) => typeof name === "string").join(" ");
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: "main" | "danger" | "plain";
  /** True for a button that shows only an icon; it needs a `title`, which is its name. */
  readonly icon?: boolean;
}

export function Button({ kind, icon = false, className, title, ...rest }: ButtonProps): ReactNode {
  const look = classes(css.button, kind && css[kind], icon && css.icon, className);
  return <button type="button" className={look} title={title} {...(icon && { "aria-label": title })} {...rest} />;
}

/** Kinds of what a badge or note says. */
export type Tone = "good" | "bad" | "wait" | "busy";

export function Badge({
  tone,
  children,
}: {
  readonly tone?: Tone | undefined;
  readonly children: ReactNode;
}): ReactNode {
  return <span className={classes(css.badge, tone && css[tone])}>{children}</span>;
}

/** A sentence that stands out: an error, a warning or a hint. */
export function Note({ tone, children }: { readonly tone?: "bad" | "wait"; readonly children: ReactNode }): ReactNode {
  const Icon = tone === "bad" ? CircleAlert : tone === "wait" ? TriangleAlert : Info;
  return (
    <div
      className={classes(css.note, tone === "bad" && css.noteBad, tone === "wait" && css.noteWait)}
      role={tone === "bad" ? "alert" : "note"}
    >
      <Icon size={18} aria-hidden="true" />
      <div>{children}</div>
    </div>
  );
}

/** Takes the place of an empty list, and says how it is filled. */
export function Empty({
  icon,
  title,
  children,
}: {
  readonly icon?: ReactNode;
  readonly title: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className={css.empty}>
      {icon}
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Stands for content that is being loaded. */
export function Skeleton({ lines = 3 }: { readonly lines?: number }): ReactNode {
  return (
    <div className={css.stack} role="status" aria-label={words.loading}>
      {Array.from({ length: lines }, (_, line) => 92 - ((line * 23) % 50)).map((width) => (
        <span key={width} className={css.skeleton} style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}

/** The head of a page: its title, a sentence, and what can be done. */
export function PageHead({
  title,
  about,
  children,
}: {
  readonly title: ReactNode;
  readonly about?: ReactNode;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <header className={css.head}>
      <div>
        <h1>{title}</h1>
        {about !== undefined && <p className={css.soft}>{about}</p>}
      </div>
      {children !== undefined && <div className={css.row}>{children}</div>}
    </header>
  );
}

/** One timer for all times of a page, of which long lists have many. */
const clock = { ticks: 0, watchers: new Set<() => void>(), timer: undefined as number | undefined };

function watchClock(tell: () => void): () => void {
  clock.watchers.add(tell);
  clock.timer ??= window.setInterval(() => {
    clock.ticks += 1;
    for (const each of clock.watchers) each();
  }, 15_000);
  return () => void clock.watchers.delete(tell);
}

const clockTick = (): number => clock.ticks;

/** A time as people say it, with the exact one in its title. */
export function Time({ at }: { readonly at: Date | undefined }): ReactNode {
  useSyncExternalStore(watchClock, clockTick);
  if (at === undefined) return <span className={css.soft}>–</span>;
  return (
    <time dateTime={at.toISOString()} title={absoluteTime(at)}>
      {relativeTime(at)}
    </time>
  );
}

export function Bytes({ size }: { readonly size: number | bigint }): ReactNode {
  return <span title={words.bytes(Number(size))}>{bytesText(Number(size))}</span>;
}

/** An id or command that a click copies. */
export function CopyText({
  text,
  shown = text,
  label,
}: {
  readonly text: string;
  readonly shown?: string;
  readonly label?: string;
}): ReactNode {
  const [isCopied, copy] = useCopied();
  return (
    <button
      type="button"
      className={classes(css.copy, css.mono)}
      title={text}
      aria-label={words.copy(label ?? shown)}
      onClick={() => copy(text)}
    >
      <span>{shown}</span>
      {isCopied ? <Check size={13} aria-hidden="true" /> : <Copy size={13} aria-hidden="true" />}
      <span className={css.hidden} role="status">
        {isCopied ? words.copied : ""}
      </span>
    </button>
  );
}

/** Names and values, one under the other. */
export function Facts({
  rows,
}: {
  readonly rows: readonly (readonly [string, ReactNode] | undefined | false)[];
}): ReactNode {
  return (
    <dl className={css.facts}>
      {rows.map((row) =>
        row === undefined || row === false ? undefined : (
          <div key={row[0]} style={{ display: "contents" }}>
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
