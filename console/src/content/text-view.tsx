import { lazy, type ReactNode, Suspense, useState } from "react";
import { contentWords } from "../texts/content.js";
import { Button } from "../ui/parts.js";
import { Code } from "./code.js";
import css from "./content.module.css";
import { languageOf } from "./languages.js";
import { mediaTypeOf } from "./media.js";

const Markdown = lazy(() => import("./markdown.js"));

interface TextProps {
  readonly text: string;
  readonly mediaType?: string;
  readonly filename?: string;
}

/** A text: as code if its name or media type says so, else as Markdown, which plain texts nearly always are. */
export function TextView({ text, mediaType = "", filename = "" }: TextProps): ReactNode {
  const type = mediaTypeOf(mediaType, filename);
  const language = type === "text/markdown" ? undefined : languageOf(type, filename);
  if (language !== undefined) return <Code code={text} language={language} />;
  if (filename !== "" && type !== "text/markdown") return <Code code={text} />;
  return (
    <Suspense fallback={<PlainText text={text} />}>
      <Markdown text={text} />
    </Suspense>
  );
}

const SHOWN = 20_000;

/** A text as it is. */
export function PlainText({ text }: { readonly text: string }): ReactNode {
  const [limit, setLimit] = useState(SHOWN);
  return (
    <div className={css.plain}>
      {text.length > limit ? text.slice(0, limit) : text}
      {text.length > limit && (
        <div className={css.more}>
          <Button onClick={() => setLimit(limit * 4)}>{contentWords.showMore(text.length - limit)}</Button>
        </div>
      )}
    </div>
  );
}
