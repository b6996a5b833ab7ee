import { ExternalLink } from "lucide-react";
import type { ReactNode } from "react";
import { safeLink } from "../content/media.js";
import css from "./agents.module.css";

/** A link that an agent names. It is text if it does not lead to the web or to mail. */
export function Outward({ href, children }: { readonly href: string; readonly children?: ReactNode }): ReactNode {
  const link = safeLink(href);
  const shown = children ?? href.slice(0, 300);
  if (link === undefined) return <span title={href.slice(0, 300)}>{shown}</span>;
  return (
    <a href={link} target="_blank" rel="noreferrer noopener" className={css.outward}>
      {shown}
      <ExternalLink size={12} aria-hidden="true" />
    </a>
  );
}
