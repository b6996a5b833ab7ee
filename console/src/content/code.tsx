import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { contentWords } from "../texts/content.js";
import { words } from "../texts/words.js";
import { Button, css as ui } from "../ui/parts.js";
import { useCopied } from "../ui/use-copied.js";
import css from "./content.module.css";
import type { Token } from "./highlight.js";
import { ScrollBox } from "./scroll-box.js";

/** Longest code that is highlighted, and characters that are shown at first, with each click as many more. */
const MAX_HIGHLIGHTED = 60_000;
const SHOWN = 20_000;

/** Languages that are named otherwise than their grammar. */
const titles: Readonly<Record<string, string>> = { tsx: "typescript", docker: "dockerfile", bash: "shell" };

interface CodeProps {
  readonly code: string;
  readonly language?: string | undefined;
  /** True without a head. */
  readonly bare?: boolean;
}

/** A code block, with the colours of its language once they are loaded. */
export function Code({ code, language, bare = false }: CodeProps): ReactNode {
  const [limit, setLimit] = useState(SHOWN);
  const shown = code.length > limit ? code.slice(0, limit) : code;
  const lines = useHighlighted(shown, language);
  return (
    <div className={css.code}>
      {!bare && (
        <div className={css.codeHead}>
          <span>{titles[language ?? ""] ?? language ?? ""}</span>
          <CopyCode code={code} />
        </div>
      )}
      <ScrollBox className={css.codeBox} label={contentWords.code(language ?? "")}>
        <pre>
          <code>{lines === undefined ? shown : <Colored code={shown} lines={lines} />}</code>
        </pre>
      </ScrollBox>
      {code.length > limit && (
        <div className={css.more}>
          <Button onClick={() => setLimit(limit * 4)}>{contentWords.showMore(code.length - limit)}</Button>
        </div>
      )}
    </div>
  );
}

function CopyCode({ code }: { readonly code: string }): ReactNode {
  const [isCopied, copy] = useCopied();
  return (
    <>
      <Button kind="plain" icon title={contentWords.copyCode} onClick={() => copy(code)}>
        {isCopied ? <Check size={14} aria-hidden="true" /> : <Copy size={14} aria-hidden="true" />}
      </Button>
      <span className={ui.hidden} role="status">
        {isCopied ? words.copied : ""}
      </span>
    </>
  );
}

interface Lines {
  readonly code: string;
  readonly lines: readonly (readonly Token[])[];
}

/** The tokens as React elements, because the page's policy keeps style out of HTML texts. A longer code has its rest plain. */
function Colored({ code, lines: { code: known, lines } }: { readonly code: string; readonly lines: Lines }): ReactNode {
  const isWhole = known === code;
  // The last line may go on differently.
  const whole = isWhole ? lines : lines.slice(0, -1);
  const rest = isWhole ? "" : code.slice(known.lastIndexOf("\n") + 1);
  return (
    <>
      {whole.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity.
        <span key={at}>
          {line.map(({ text, color }, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no other identity.
            <span key={place} style={{ color }}>
              {text}
            </span>
          ))}
          {at < whole.length - 1 || !isWhole ? "\n" : ""}
        </span>
      ))}
      {rest}
    </>
  );
}

/** The last highlighted state of a code that may still grow; undefined before the first one. */
function useHighlighted(code: string, language: string | undefined): Lines | undefined {
  const [done, setDone] = useState<Lines>();
  useEffect(() => {
    if (language === undefined || code.length > MAX_HIGHLIGHTED) return;
    let isCurrent = true;
    // A code that is streamed changes with each frame.
    const timer = setTimeout(() => {
      import("./highlight.js")
        .then(({ highlighted }) => highlighted(code, language))
        .then((lines) => {
          if (isCurrent && lines.length > 0) setDone({ code, lines });
        })
        .catch(() => {});
    }, 60);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [code, language]);
  return done !== undefined && code.startsWith(done.code) ? done : undefined;
}
