// What `--import` loads into a server: the SDK of OpenTelemetry for Node.js, which the environment configures.
import { NodeSDK } from "@opentelemetry/sdk-node";

new NodeSDK().start();
