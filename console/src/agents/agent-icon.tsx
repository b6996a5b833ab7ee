import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { hostOf } from "../../../src/client/hosts.js";
import { relayFetchOf } from "../api/relay.js";
import css from "./agents.module.css";

/** Largest icon, in bytes. */
const MAX_BYTES = 256 * 1024;

interface IconProps {
  /** URL of the agent. */
  readonly agent: string;
  readonly name: string;
  /** As the card names it. */
  readonly icon: string | undefined;
}

/** The icon of an agent, or its first letter. Icons of other hosts than the agent's are not loaded. */
export function AgentIcon({ agent, name, icon }: IconProps): ReactNode {
  const url = icon !== undefined && URL.canParse(icon, agent) ? new URL(icon, agent).href : undefined;
  const isOwn = url !== undefined && /^https?:/.test(url) && hostOf(url) === hostOf(agent);
  const { data } = useQuery({
    queryKey: ["icon", url],
    queryFn: ({ signal }) => loaded(url ?? "", signal),
    enabled: isOwn,
    staleTime: Infinity,
    retry: false,
  });
  const shown = useBlobUrl(data);
  if (shown !== undefined) return <img className={css.icon} src={shown} alt="" />;
  return (
    <span className={css.icon} aria-hidden="true">
      {[...name.trim()][0]?.toUpperCase() ?? "?"}
    </span>
  );
}

async function loaded(url: string, signal: AbortSignal): Promise<Blob | null> {
  const answer = await relayFetchOf(`icon ${url}`)(url, { signal });
  const blob = await answer.blob();
  // Without a script in it: an image runs none.
  return answer.ok && blob.type.startsWith("image/") && blob.size <= MAX_BYTES ? blob : null;
}

function useBlobUrl(blob: Blob | null | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!blob) return;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}
