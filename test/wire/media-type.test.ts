import { describe, expect, it } from "vitest";
import {
  hasJsonMessages,
  isConnectStreamType,
  isConnectUnaryType,
  isEnvelopedType,
  isGrpcProtoType,
  isGrpcType,
  isGrpcWebType,
  parameterOf,
} from "../../src/wire/media-type.js";

const checks = {
  isGrpcType,
  isGrpcWebType,
  isGrpcProtoType,
  isConnectStreamType,
  isConnectUnaryType,
  isEnvelopedType,
  hasJsonMessages,
};

describe("the media types of gRPC and Connect", () => {
  it.each([
    ["application/grpc", ["isGrpcType", "isGrpcProtoType", "isEnvelopedType"]],
    ["Application/gRPC+proto; charset=utf-8", ["isGrpcType", "isGrpcProtoType", "isEnvelopedType"]],
    ["application/grpc+json", ["isGrpcType", "isEnvelopedType", "hasJsonMessages"]],
    ["application/grpc-web-text+proto", ["isGrpcType", "isGrpcWebType", "isEnvelopedType"]],
    ["application/grpc-web+json", ["isGrpcType", "isGrpcWebType", "isEnvelopedType", "hasJsonMessages"]],
    ["application/connect+proto", ["isConnectStreamType", "isEnvelopedType"]],
    ["application/connect+json", ["isConnectStreamType", "isEnvelopedType", "hasJsonMessages"]],
    ["application/proto", ["isConnectUnaryType"]],
    ["application/json; charset=UTF-8", ["isConnectUnaryType", "hasJsonMessages"]],
    ["application/json; charset=latin1", ["hasJsonMessages"]],
    ["text/json", []],
    [undefined, []],
    [null, []],
  ])("are recognized in %s", (type, expected) => {
    const names = Object.entries(checks).flatMap(([name, check]) => (check(type) ? [name] : []));
    expect(names.sort()).toEqual([...expected].sort());
  });
});

describe("parameterOf()", () => {
  it.each([
    ["text/plain; Charset=utf-8", "utf-8"],
    ['text/plain;a="x;charset=no";charset="utf-8"', "utf-8"],
    ["text/plain; charset=", ""],
    ["text/plain; q=1", undefined],
    ["charset=utf-8", undefined],
  ])("reads %s", (text, value) => {
    expect(parameterOf(text, "charset")).toBe(value);
  });
});
