import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { comparableHost } from "../../../src/client/hosts.js";
import { fetchClient } from "../../../src/client/web/http.js";
import { Gathered } from "../../../src/core/bytes.js";
import { inBackground } from "../api/background.js";
import { relayFetchOf } from "../api/relay.js";
import css from "./agents.module.css";

/** Largest icon, in bytes. */
const MAX_BYTES = 256 * 1024;

/** Time for an icon, in milliseconds. */
const TIMEOUT_MS = 15_000;

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
  const isOwn = url !== undefined && /^https?:/.test(url) && comparableHost(url) === comparableHost(agent);
  const { data } = useQuery({
    queryKey: ["icon", url],
    queryFn: ({ signal }) =>
      inBackground(signal, () => loaded(url ?? "", AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]))),
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
  const http = fetchClient(relayFetchOf(`icon ${url}`));
  const answer = await http({ url, method: "GET", headers: [], signal });
  const gathered = new Gathered();
  for await (const chunk of answer.chunks()) {
    gathered.push(chunk);
    if (gathered.size > MAX_BYTES) return null;
  }
  // Without a script in it: an image runs none.
  const isImage = answer.status === 200 && answer.contentType.startsWith("image/");
  return isImage ? new Blob([new Uint8Array(gathered.bytes)], { type: answer.contentType }) : null;
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
