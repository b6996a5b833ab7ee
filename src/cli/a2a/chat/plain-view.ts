import type { Output } from "../output.js";
import type { View } from "./talk.js";

/** A view without a terminal: the answer as it comes on stdout, everything else on stderr. */
export function plainView(out: Output): View {
  let isLineOpen = false;
  const closeLine = (): void => {
    if (isLineOpen) out.text("\n");
    isLineOpen = false;
  };
  return {
    wait: () => {},
    push: (text) => {
      out.text(text);
      isLineOpen = !text.endsWith("\n");
    },
    doing: (text) => {
      if (text !== "") out.note(`note: ${text}`);
    },
    line: (text) => out.note(text),
    finish: closeLine,
    end: closeLine,
  };
}
