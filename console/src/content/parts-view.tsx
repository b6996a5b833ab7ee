import type { ReactNode } from "react";
import type { Part } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** Shows the parts of a message or an artifact: texts, files and data. */
export function PartsView({ parts }: { readonly parts: readonly Part[] }): ReactNode {
  return parts.map(({ content }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts are only ever added at the end.
    <p key={index}>{content.case === "text" ? content.value : content.case}</p>
  ));
}
