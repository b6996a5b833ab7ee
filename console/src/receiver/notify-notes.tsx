import type { ReactNode } from "react";
import { base } from "../api/base.js";
import { receiverWords } from "../texts/receiver.js";
import { Note } from "../ui/parts.js";
import { Failure } from "./failure.js";
import { isOutOfReach } from "./reach.js";
import type { useNotified } from "./use-notified.js";

interface NotesProps {
  readonly agent: string;
  readonly notified: ReturnType<typeof useNotified>;
}

/** Tells why the next message will not notify the receiver. */
export function NotifyNotes({ agent, notified: { isOn, error } }: NotesProps): ReactNode {
  if (error !== undefined) return <Failure error={error} />;
  if (!isOn || !isOutOfReach(base.href, agent)) return undefined;
  return <Note tone="wait">{receiverWords.loopback(base.host)}</Note>;
}
