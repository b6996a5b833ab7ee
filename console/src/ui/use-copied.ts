import { useState } from "react";

/** Time for which a copy is confirmed, in milliseconds. */
const SHOWN_MS = 1_500;

/** Copies a text to the clipboard. Returns true as its first value shortly after that. */
export function useCopied(): readonly [isCopied: boolean, copy: (text: string) => void] {
  const [isCopied, setCopied] = useState(false);
  const copy = (text: string): void => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), SHOWN_MS);
    });
  };
  return [isCopied, copy];
}
