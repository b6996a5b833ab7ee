import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Notified } from "../talk/talk-store.js";
import { receiverFor } from "./registrations.js";

/** True if the next message of a conversation registers the receiver. */
export function useNotified(agent: string) {
  const queries = useQueryClient();
  const [isOn, setOn] = useState(false);
  const [error, setError] = useState<unknown>();
  /** Returns the webhook for the message that is sent now, and switches it off for the one after it. */
  const take = async (): Promise<Notified | undefined | "failed"> => {
    setError(undefined);
    if (!isOn) return undefined;
    try {
      const webhook = await receiverFor(queries, agent);
      setOn(false);
      return webhook;
    } catch (thrown) {
      setError(thrown);
      return "failed";
    }
  };
  return { isOn, error, take, toggle: () => setOn(!isOn) };
}
