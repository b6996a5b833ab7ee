import type { ReactNode } from "react";
import { receiverWords } from "../texts/receiver.js";
import { CopyText, Note, css as ui } from "../ui/parts.js";
import { flagsFor, isOutOfReach } from "./reach.js";
import css from "./receiver.module.css";

interface ReachProps {
  readonly address: string;
  /** URL of the agent that is to send. */
  readonly agent?: string | undefined;
}

/** Tells why notifications may not arrive: the agent cannot reach the address, or refuses it by default. */
export function ReachNote({ address, agent }: ReachProps): ReactNode {
  if (isOutOfReach(address, agent)) {
    return <Note tone="wait">{receiverWords.loopback(new URL(address).host)}</Note>;
  }
  const flags = flagsFor(address);
  if (flags === undefined) return undefined;
  return (
    <Note>
      <p className={ui.small}>{receiverWords.inner}</p>
      <p className={css.flags}>
        <CopyText text={flags} />
      </p>
    </Note>
  );
}
