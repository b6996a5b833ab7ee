import { ExternalLink } from "lucide-react";
import { memo, type ReactNode, useDeferredValue, useEffect, useMemo, useState } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { contentWords } from "../texts/content.js";
import { Boundary } from "../ui/boundary.js";
import { Button } from "../ui/parts.js";
import { blocksOf, codeIn, fenceIn, growingParts } from "./blocks.js";
import { Code } from "./code.js";
import css from "./content.module.css";
import { languageNamed } from "./languages.js";
import { RemoteImage } from "./linked-file.js";
import { safeLink } from "./media.js";
import { TableBox } from "./scroll-box.js";

/** Characters that are shown at first, with each click as many more. */
const SHOWN = 40_000;

/** A text of an agent as Markdown. HTML in it is shown as text, and nothing is loaded from elsewhere. */
export default function Markdown({ text }: { readonly text: string }): ReactNode {
  const [limit, setLimit] = useState(SHOWN);
  const deferred = useDeferredValue(text);
  const shown = deferred.length > limit ? deferred.slice(0, limit) : deferred;
  const isGrowing = useGrowing(shown);
  const blocks = useMemo(() => blocksOf(shown), [shown]);
  const last = blocks.at(-1) ?? "";
  const [head, rest] = isGrowing ? growingParts(last) : [last, ""];
  return (
    <div className={css.markdown}>
      {blocks.map((block, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a block keeps its place while the text grows.
        <Boundary key={at} instead={<p>{block}</p>}>
          <Block text={at === blocks.length - 1 ? head : block} />
        </Boundary>
      ))}
      {rest !== "" && <div className={css.plain}>{rest}</div>}
      {text.length > limit && (
        <Button onClick={() => setLimit(limit * 4)}>{contentWords.showMore(text.length - limit)}</Button>
      )}
    </div>
  );
}

/** Time without a change after which a text counts as complete, in milliseconds. */
const SETTLED_MS = 400;

/** True while a text changes. */
function useGrowing(text: string): boolean {
  const [settled, setSettled] = useState(text);
  const isGrowing = settled !== text;
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return isGrowing;
}

const plugins = [remarkGfm];

const Block = memo(({ text }: { readonly text: string }): ReactNode => {
  const fence = fenceIn(text);
  if (fence !== undefined)
    return <Code code={codeIn(text)} language={languageNamed(/\S+/.exec(fence)?.[0]) ?? undefined} />;
  return (
    <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={keepUrl}>
      {text}
    </ReactMarkdown>
  );
});

/** The elements below check addresses themselves, to show those that they do not open. */
const keepUrl = (url: string): string => url;

/** All levels are one in the outline of the page, whose own headings are above, and differ by their size. */
function headingOf(level: number): (props: { readonly children?: ReactNode }) => ReactNode {
  return ({ children }) => <h2 data-level={level}>{children}</h2>;
}

const components: Components = {
  a: ({ href, children }) => <SafeLink href={href}>{children}</SafeLink>,
  img: ({ src, alt }) => <RemoteImage url={typeof src === "string" ? src : ""} alt={alt ?? ""} />,
  pre: ({ children }) => children,
  code: ({ className, children }) => {
    const code = String(children ?? "");
    const language = /language-(\S+)/.exec(className ?? "")?.[1];
    if (language === undefined && !code.includes("\n")) return <code>{code}</code>;
    return <Code code={code.replace(/\n$/, "")} language={languageNamed(language) ?? undefined} />;
  },
  table: ({ children }) => (
    <TableBox className={css.tableBox}>
      <table>{children}</table>
    </TableBox>
  ),
  h1: headingOf(1),
  h2: headingOf(2),
  h3: headingOf(3),
  h4: headingOf(4),
  h5: headingOf(5),
  h6: headingOf(6),
  input: ({ checked }) => (
    <input type="checkbox" checked={checked === true} disabled aria-label={contentWords.data} readOnly />
  ),
};

function SafeLink({ href, children }: { readonly href: string | undefined; readonly children: ReactNode }): ReactNode {
  const link = safeLink(href);
  if (link === undefined) return <span title={href}>{children}</span>;
  return (
    <a href={link} target="_blank" rel="noreferrer noopener" title={link}>
      {children}
      <ExternalLink size={11} aria-hidden="true" className={css.outside} />
    </a>
  );
}
