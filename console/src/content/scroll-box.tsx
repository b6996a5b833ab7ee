import type { ReactNode } from "react";
import { contentWords } from "../texts/content.js";

interface ScrollBoxProps {
  readonly label: string;
  readonly className: string | undefined;
  readonly children: ReactNode;
}

/** A box that scrolls, which the keyboard has to reach. No landmark, because a page may have many. */
export function ScrollBox({ label, className, children }: ScrollBoxProps): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys scroll the focused element.
    <figure className={className} tabIndex={0} aria-label={label}>
      {children}
    </figure>
  );
}

/** The box of a table. */
export function TableBox({ className, children }: Omit<ScrollBoxProps, "label">): ReactNode {
  return (
    <ScrollBox label={contentWords.asTable} className={className}>
      {children}
    </ScrollBox>
  );
}
