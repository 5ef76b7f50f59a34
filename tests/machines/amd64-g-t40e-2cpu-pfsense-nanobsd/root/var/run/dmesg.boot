CPU: AMD G-T40E Processor (1000.02-MHz K8-class CPU)
  Origin="AuthenticAMD"  Id=0x500f20  Family=0x14  Model=0x2  Stepping=0
  Features2=0x802209<SSE3,MON,SSSE3,CX16,POPCNT>
cryptosoft0: <software crypto> on motherboard
padlock0: No ACE support.
aesni0: No AESNI support.
