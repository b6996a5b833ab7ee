import type { ReactNode } from "react";
import { receiverWords } from "../texts/receiver.js";
import { sentenceOf } from "../ui/error.js";
import { Note } from "../ui/parts.js";

/** Tells why the receiver could not be registered, such as an agent that refuses its address. */
export function Failure({ error }: { readonly error: unknown }): ReactNode {
  return (
    <Note tone="bad">
      <p>{receiverWords.failed}</p>
      <p>{sentenceOf(error)}</p>
    </Note>
  );
}
