import { Check, Copy } from "lucide-react";
import type { ReactNode } from "react";
import { words } from "../texts/words.js";
import { Button, css } from "./parts.js";
import { useCopied } from "./use-copied.js";

/** A button that copies a text, which is made when it is clicked. */
export function CopyButton({ text, children }: { readonly text: () => string; readonly children: string }): ReactNode {
  const [isCopied, copy] = useCopied();
  const Icon = isCopied ? Check : Copy;
  return (
    <Button onClick={() => copy(text())}>
      <Icon size={14} aria-hidden="true" />
      {children}
      <span className={css.hidden} role="status">
        {isCopied ? words.copied : ""}
      </span>
    </Button>
  );
}
