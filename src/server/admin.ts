import type { Compression } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { AdminAccess, type OperatorAccess } from "../admin/access.js";
import { operatorAudit, operatorLog } from "../admin/audit.js";
import { adminBounds, adminLimitsOf } from "../admin/limits.js";
import type { AdminParts } from "../admin/parts.js";
import { createAdminInvoke } from "../admin/service.js";
import { unverified } from "../auth/checks-under-way.js";
import { Throttle } from "../auth/throttle.js";
import type { BindingOptions, HttpBinding } from "../binding/binding.js";
import { createConnectBinding } from "../binding/connect/binding.js";
import { isGrpc } from "../binding/connect/protocol.js";
import { infrastructureRoutes } from "../binding/grpc/internal-routes.js";
import { InternalServices } from "../binding/grpc/internal-services.js";
import { createRestBinding } from "../binding/rest/binding.js";
import { toA2AError } from "../core/error.js";
import type { FixedLimit } from "../core/limits.js";
import { defined } from "../core/members.js";
import { remoteBounds } from "../delegation/remotes.js";
import type { Engine } from "../engine/engine.js";
import { artifactSize } from "../engine/log/plan.js";
import { queuedMessages } from "../engine/run/execution-slots.js";
import { waitingTurns } from "../engine/send/acceptance.js";
import { requestValues } from "../http/body.js";
import type { Dispatch } from "../http/dispatch.js";
import { createFetchHandler, type FetchHandler } from "../http/fetch/handler.js";
import { createHostCheck } from "../http/hosts.js";
import { arriving, InboundBudget } from "../http/inbound-budget.js";
import { createNodeHandler, type NodeHandler } from "../http/node/handler.js";
import { callOf } from "../http/request.js";
import type { PushControl } from "../push/dead-letters.js";
import type { PushOperations } from "../push/operations.js";
import { taskSubscriptions } from "../service/caller-shares.js";
import { type RejectionLog, rejectionLog } from "../service/interceptors/access-log.js";
import { openRequests } from "../service/interceptors/request-memory.js";
import type { MetricFamily, Metrics } from "../telemetry/metrics.js";
import { expositionText, PROMETHEUS_TYPE } from "../telemetry/prometheus.js";
import { summed } from "../telemetry/summed.js";
import { jsonRpcOf } from "../version/jsonrpc.js";
import { restOf } from "../version/rest.js";
import { PROTOCOL_VERSION } from "../version/v1.js";
import { Versions } from "../version/versions.js";
import { METRICS_QUESTION } from "../workers/messages.js";
import type { Worker } from "../workers/worker.js";
import { rejectionAudit, withRejections } from "./compose-http.js";
import { createDispatch } from "./dispatch.js";
import { newMetrics, versionNames } from "./gauges.js";
import { healthRoute } from "./health.js";
import type { Lifecycle } from "./lifecycle.js";
import type { AdminSettings, Settings } from "./options.js";
import { createProxies, type Proxies } from "./proxies.js";

/** The part of a server's lifecycle that its operators see. */
export type AdminLifecycle = Pick<Lifecycle, "readiness" | "running" | "beginDrain" | "afterStart" | "onReadiness">;

/** Parts of the server that its operators see. */
export interface AdminComponents {
  readonly engine: Engine;
  readonly lifecycle: AdminLifecycle;
  readonly push: PushControl | undefined;
  readonly pushOperations: PushOperations | undefined;
}

/** The operator's service of a server, without a listener. */
export interface AdminHandlers {
  readonly handler: NodeHandler;
  readonly fetch: FetchHandler;
  /** Logs input that is not a request. Undefined without an access log. */
  readonly onRejection: RejectionLog | undefined;
  /** Ends the streams of health checks and reflection, which clients never end. */
  endStreams(): void;
}

/** Media type of the service's JSON. */
const JSON_TYPE = "application/json";

/** The service in place of a version of the A2A protocol. */
const adminVersions = (): Versions =>
  new Versions({
    // The bindings need a version of this form; no call of operators names one.
    name: PROTOCOL_VERSION,
    jsonRpc: { ...jsonRpcOf(AdminService), methods: [] },
    rest: { ...restOf(AdminService), mediaType: JSON_TYPE },
    grpc: AdminService,
    connect: AdminService,
  });

/**
 * Creates the operator's service of a server: REST, Connect, gRPC-Web and gRPC, with reflection, health checks and
 * metrics. Its limits are its own.
 *
 * @param proxies in front of the server that it is mounted in. Default: none is trusted, every peer is an operator.
 * @throws Error for a tokens file that is invalid
 */
export function composeAdmin(
  settings: Settings,
  admin: AdminSettings,
  parts: AdminComponents,
  proxies: Proxies = createProxies(undefined),
): AdminHandlers {
  const { lifecycle } = parts;
  const { limits, logger, audit, metrics = newMetrics(settings.versions) } = settings;
  const throttle = new Throttle(limits, parts.engine.signals, "operators");
  const access = new AdminAccess(admin.access, { limits, logger, audit: operatorAudit(audit), throttle });
  const onRejection = settings.accessLog
    ? rejectionLog(operatorLog(logger), (from) => proxies.addressOf(from))
    : undefined;
  const components = { ...parts, metrics, backupFolder: admin.backupFolder };
  const direct = adminBindingOptions(settings, access, components);
  const options: BindingOptions = { ...direct, invoke: proxies.intercept(direct.invoke), onRejection };
  const infrastructure = infrastructureOf(settings, lifecycle);
  const dispatch = dispatchOf(options, { settings, admin, lifecycle, access, metrics, proxies }, infrastructure);
  return {
    handler: createNodeHandler(dispatch, logger),
    fetch: createFetchHandler(dispatch, logger),
    onRejection,
    endStreams: () => infrastructure.end(),
  };
}

/** Returns the options of the bindings of the operator's service, for operators that this access identifies. */
export function adminBindingOptions(
  settings: Settings,
  access: OperatorAccess,
  components: AdminComponents & Pick<AdminParts, "backupFolder" | "metrics">,
): BindingOptions {
  const { store, agents, limits: all, logger, audit } = settings;
  const { afterStart } = components.lifecycle;
  const recentAudit = defined(settings.recentAudit);
  const parts: AdminParts = {
    ...{
      store,
      agents,
      limits: all,
      fixedLimits: fixedLimitValues(),
      retentionMs: settings.engine.retentionMs,
      logger,
      audit,
      recentAudit,
    },
    ...components,
    versions: versionNames(settings.versions),
    others: settings.worker,
  };
  const invoke = createAdminInvoke(parts, { access, afterStart, logsCalls: settings.accessLog });
  const limits = adminLimitsOf(all);
  return { versions: adminVersions(), invoke, limits, inboundBudget: new InboundBudget({ limits }), logger };
}

/** Returns the values of the limits that no option sets. */
export function fixedLimitValues(): Readonly<Record<FixedLimit, number>> {
  return {
    maxAdminCalls: adminBounds.calls,
    maxAdminStreams: adminBounds.streams,
    maxArrivingPerAddress: arriving.maxPerAddress,
    maxArtifactBytes: artifactSize.maxBytes,
    maxDelegationDepth: remoteBounds.maxDepth,
    maxOpenRequestBytes: openRequests.maxBytes,
    maxQueuedBytes: queuedMessages.maxBytes,
    maxRemoteCalls: remoteBounds.maxCalls,
    maxRequestValues: requestValues.max,
    maxSubscriptionsPerTask: taskSubscriptions.max,
    maxUnverifiedPerAddress: unverified.maxPerAddress,
    maxWaitingTurns: waitingTurns.max,
  };
}

/** Compressions for calls of operators. */
export const adminCompressions: readonly Compression[] = [compressionGzip, compressionBrotli];

/** Creates health and reflection. */
function infrastructureOf({ reflection }: Settings, lifecycle: AdminLifecycle): InternalServices {
  const infrastructure = new InternalServices({ service: AdminService, reflection });
  const show = (): void => infrastructure.setServing(lifecycle.readiness === "ready");
  show();
  lifecycle.onReadiness(show);
  return infrastructure;
}

interface DispatchParts {
  readonly settings: Settings;
  readonly admin: AdminSettings;
  readonly lifecycle: AdminLifecycle;
  readonly access: AdminAccess;
  readonly metrics: Metrics;
  readonly proxies: Proxies;
}

function dispatchOf(
  options: BindingOptions,
  { settings, admin, lifecycle, access, metrics, proxies }: DispatchParts,
  infrastructure: InternalServices,
): Dispatch {
  const connect = createConnectBinding(options, {
    compressions: adminCompressions,
    more: infrastructureRoutes(infrastructure),
  });
  const rest = createRestBinding(options);
  settings.worker?.answer(METRICS_QUESTION, () => metrics.read());
  const answering = createDispatch({
    hosts: createHostCheck({ allowed: admin.allowedHosts }),
    routes: [healthRoute(lifecycle)],
    bindings: settings.servesMetrics
      ? [metricsBinding({ access, proxies }, () => allMetrics(metrics, settings.worker), rest), connect, rest]
      : [connect, rest],
    fallback: {
      notFound: (request) => connect.unserved(request) ?? rest.notFound(request),
      refuse: (request, error) => (isGrpc(request) ? connect : rest).refuse(request, error),
    },
    basePath: "",
  });
  const watched = options.onRejection === undefined ? answering : withRejections(answering, options.onRejection);
  const { audit } = settings;
  return audit === undefined ? watched : { ...watched, onRejection: rejectionAudit(operatorAudit(audit), proxies) };
}

/** Reads the metrics of all processes of the server. */
async function allMetrics(metrics: Metrics, worker: Worker | undefined): Promise<MetricFamily[]> {
  const own = await metrics.read();
  if (worker === undefined) return own;
  // Sends this worker's own metrics along: the primary process still counts them after the worker has ended.
  const others = (await worker.ask(METRICS_QUESTION, own)) as readonly (MetricFamily[] | null)[];
  return summed([own, ...others.filter((each) => each !== null)]);
}

/** Answers `GET /metrics` for operators with the role `read`, as Prometheus text. */
function metricsBinding(
  { access, proxies }: Pick<DispatchParts, "access" | "proxies">,
  metrics: () => Promise<MetricFamily[]>,
  { refuse }: Pick<HttpBinding, "refuse">,
): HttpBinding<string> {
  return {
    match: (verb, path) => (path === "/metrics" && /^(GET|HEAD)$/.test(verb) ? path : undefined),
    handle: async (request) => {
      const call = callOf(request, "metrics");
      call.peer = proxies.peerOf(request);
      try {
        await access.admit(call, "read");
      } catch (error) {
        return refuse(request, toA2AError(error));
      }
      const headers = [["cache-control", "no-store"]] as const;
      return { status: 200, type: PROMETHEUS_TYPE, headers, body: expositionText(await metrics()) };
    },
    refuse,
  };
}
