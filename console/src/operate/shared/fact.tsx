import type { ReactNode } from "react";
import { css } from "../../ui/parts.js";

/** A list of facts, each a `Fact`. */
export function FactList({ children }: { readonly children: ReactNode }): ReactNode {
  return <dl className={css.facts}>{children}</dl>;
}

/** A name and its value. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div style={{ display: "contents" }}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
