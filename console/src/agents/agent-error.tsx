import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { A2AError } from "../../../src/core/error.js";
import { agentWords } from "../texts/agents.js";
import { ErrorNote } from "../ui/error.js";

/** The error of a call of an agent. One that a login may help against leads to it. */
export function AgentError({ agent, error }: { readonly agent: string; readonly error: unknown }): ReactNode {
  const isRefused = error instanceof A2AError && /^(?:UNAUTHENTICATED|PERMISSION_DENIED)$/.test(error.reason);
  return (
    <ErrorNote error={error}>
      {isRefused && (
        <Link to="/agent" search={{ url: agent, tab: "login" }}>
          {agentWords.login.toLogin}
        </Link>
      )}
    </ErrorNote>
  );
}
