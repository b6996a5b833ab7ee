import type { ReactNode } from "react";
import { css, PageHead } from "../ui/parts.js";

export default function Page(): ReactNode {
  return (
    <div className={css.page}>
      <PageHead title="…" />
    </div>
  );
}
