import { memo, type ReactNode, useMemo } from "react";
import type { Part } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { dataOf } from "../../../src/client/web.js";
import { contentWords } from "../texts/content.js";
import { Boundary } from "../ui/boundary.js";
import { FirstOf } from "../ui/some-of.js";
import css from "./content.module.css";
import { useContentPlace } from "./content-context.js";
import { FileView } from "./file-view.js";
import { JsonView } from "./json-view.js";
import { LinkedFile } from "./linked-file.js";
import { mergedParts, type ShownPart } from "./merged-parts.js";
import { TextView } from "./text-view.js";

interface PartsProps {
  readonly parts: readonly Part[];
  /** Of a message, each text part is shown by itself. Those of an artifact are pieces of one text. */
  readonly of?: "artifact" | "message";
}

/** Shows the parts of a message or an artifact: texts, files and data. */
export function PartsView({ parts, of = "artifact" }: PartsProps): ReactNode {
  const shown: readonly ShownPart[] = of === "message" ? parts : mergedParts(parts);
  return (
    <div className={css.parts}>
      <FirstOf items={shown} step={50}>
        {(part, at) => (
          <Boundary key={at} instead={<p className={css.hint}>{contentWords.unshowable}</p>}>
            <OnePart part={part} />
          </Boundary>
        )}
      </FirstOf>
    </div>
  );
}

const OnePart = memo(({ part }: { readonly part: ShownPart }): ReactNode => {
  if (!("content" in part)) return <TextView {...part} />;
  const { content, filename, mediaType } = part;
  switch (content.case) {
    case "text":
      return <TextView text={content.value} filename={filename} mediaType={mediaType} />;
    case "raw":
      return <FileView bytes={content.value} filename={filename} mediaType={mediaType} />;
    case "url":
      return <LinkedFile url={content.value} filename={filename} mediaType={mediaType} />;
    case "data":
      return <DataPart part={part} />;
    default:
      return <p className={css.hint}>{contentWords.unknownPart}</p>;
  }
});

function DataPart({ part }: { readonly part: Part }): ReactNode {
  const { special } = useContentPlace();
  const value = useMemo(() => dataOf({ parts: [part] })[0], [part]);
  const other = special?.(part);
  if (other !== undefined) return other;
  return value === undefined ? undefined : <JsonView value={value} />;
}
