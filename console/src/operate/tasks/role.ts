import { useSuspenseQuery } from "@tanstack/react-query";
import { type Session, sessionQuery } from "../../api/session.js";

/** The session; these pages are only shown in one. */
export function useSession(): Session | undefined {
  const { data } = useSuspenseQuery(sessionQuery);
  return "session" in data ? data.session : undefined;
}

/** True if the operator may change things. */
export function useMayWrite(): boolean {
  return useSession()?.operator.role === "write";
}
