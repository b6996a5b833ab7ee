// Loaded into a server by `--import`: OpenTelemetry's SDK for Node.js, configured by the environment.
import { NodeSDK } from "@opentelemetry/sdk-node";

new NodeSDK().start();
