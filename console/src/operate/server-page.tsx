import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { admin } from "../api/admin.js";
import { serverWords } from "../texts/server.js";
import { ErrorNote } from "../ui/error.js";
import { durationText } from "../ui/format.js";
import { css, PageHead, Skeleton } from "../ui/parts.js";
import { TabLinks } from "../ui/tabs.js";
import { ExecutionsTab } from "./server/executions-tab.js";
import { LimitsTab } from "./server/limits-tab.js";
import { useMetrics } from "./server/metrics-poll.js";
import { MetricsTab } from "./server/metrics-tab.js";
import { OverviewTab, ReadinessBadge } from "./server/overview-tab.js";
import { VersionNotes } from "./server/version-notes.js";
import { dateOf } from "./tasks/task-row.js";

/** Milliseconds between reads. */
const EVERY = 3_000;

/** The process that serves, its store, its limits and its metrics. */
export default function Page(): ReactNode {
  const { tab, limit, view } = useSearch({ from: "/operate/server" });
  const metrics = useMetrics();
  const { data, error, refetch } = useQuery({
    queryKey: ["server"],
    queryFn: () => admin.getServer({}),
    refetchInterval: EVERY,
  });
  const started = dateOf(data?.started);
  const up = started && durationText(Date.now() - started.getTime());
  return (
    <div className={css.page}>
      <PageHead title={serverWords.title} about={data && up && serverWords.about(data.version, up)}>
        {data && <ReadinessBadge readiness={data.readiness} />}
      </PageHead>
      <TabLinks label={serverWords.title} tabs={Object.entries(serverWords.tabs)} current={tab} />
      {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      <VersionNotes metrics={metrics} />
      {tab === "metrics" && <MetricsTab metrics={metrics} isTable={view === "tables"} />}
      {tab === "executions" && <ExecutionsTab />}
      {tab === "limits" && <LimitsTab filter={limit} />}
      {!["metrics", "executions", "limits"].includes(tab ?? "") &&
        (data === undefined ? error === null && <Skeleton lines={8} /> : <OverviewTab server={data} />)}
    </div>
  );
}
