export default { serverExternalPackages: ["parley-a2a"] };
