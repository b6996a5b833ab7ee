import { useSyncExternalStore } from "react";

const subscribe = (listener: () => void): (() => void) => {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
};

/** True while the tab is in view. Streams and polls of others only cost the server. */
export function useVisible(): boolean {
  return useSyncExternalStore(subscribe, () => document.visibilityState === "visible");
}
