/* Fake libnvidia-ml.so.1: 8 x H200, memory ramping with time. Build: gcc -shared -fPIC -O1 -o libnvidia-ml.so.1 fake_nvml.c -lm
   Use: LD_LIBRARY_PATH=/dir ; env FAKE_NVML_GPUS (8). */
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <math.h>
typedef unsigned int u; typedef unsigned long long ull; typedef void* D;
static int N(void){const char*e=getenv("FAKE_NVML_GPUS");return e?atoi(e):8;}
static double T(void){struct timespec t;clock_gettime(CLOCK_REALTIME,&t);return t.tv_sec+t.tv_nsec*1e-9;}
#define IX(d) ((int)((long)(d)-1))
#define F int
F nvmlInit(void){return 0;} F nvmlInit_v2(void){return 0;} F nvmlInitWithFlags(u f){return 0;} F nvmlShutdown(void){return 0;}
const char* nvmlErrorString(int e){return e?"fake error":"Success";}
F nvmlSystemGetDriverVersion(char*s,u n){snprintf(s,n,"570.86.15");return 0;}
F nvmlSystemGetNVMLVersion(char*s,u n){snprintf(s,n,"12.570.86.15");return 0;}
F nvmlSystemGetCudaDriverVersion(int*v){*v=12080;return 0;} F nvmlSystemGetCudaDriverVersion_v2(int*v){*v=12080;return 0;}
F nvmlSystemGetProcessName(u p,char*s,u n){snprintf(s,n,"VLLM::Worker_TP");return 0;}
F nvmlDeviceGetCount(u*c){*c=N();return 0;} F nvmlDeviceGetCount_v2(u*c){*c=N();return 0;}
F nvmlDeviceGetHandleByIndex(u i,D*d){if((int)i>=N())return 2;*d=(D)(long)(i+1);return 0;} F nvmlDeviceGetHandleByIndex_v2(u i,D*d){return nvmlDeviceGetHandleByIndex(i,d);}
F nvmlDeviceGetHandleByUUID(const char*s,D*d){int i=0;if(sscanf(s,"GPU-0000000%d",&i)!=1)return 6;*d=(D)(long)(i+1);return 0;}
F nvmlDeviceGetIndex(D d,u*i){*i=IX(d);return 0;} F nvmlDeviceGetMinorNumber(D d,u*i){*i=IX(d);return 0;}
F nvmlDeviceGetName(D d,char*s,u n){snprintf(s,n,"NVIDIA H200");return 0;}
F nvmlDeviceGetUUID(D d,char*s,u n){snprintf(s,n,"GPU-0000000%d-1111-2222-3333-444444444444",IX(d));return 0;}
F nvmlDeviceGetSerial(D d,char*s,u n){snprintf(s,n,"165000000000%d",IX(d));return 0;}
typedef struct{ull total,free,used;}Mem; typedef struct{u version;ull total,reserved,free,used;}Mem2;
static void mem(D d,ull*t,ull*us){*t=143771ULL<<20;double f=fmod(T(),120)/100;if(f>0.93)f=0.93;*us=(ull)(*t*(f*(1-0.01*IX(d))))+(600ULL<<20);if(*us>*t)*us=*t;}
F nvmlDeviceGetMemoryInfo(D d,Mem*m){mem(d,&m->total,&m->used);m->free=m->total-m->used;return 0;}
/* FAKE_NVML_V2_USED_MIB: what version 2 alone says is used. */
F nvmlDeviceGetMemoryInfo_v2(D d,Mem2*m){mem(d,&m->total,&m->used);const char*e=getenv("FAKE_NVML_V2_USED_MIB");if(e)m->used=(ull)atoi(e)<<20;m->reserved=600ULL<<20;m->free=m->total-m->used;return 0;}
F nvmlDeviceGetBAR1MemoryInfo(D d,Mem*m){m->total=262144ULL<<20;m->used=30ULL<<20;m->free=m->total-m->used;return 0;}
typedef struct{u gpu,memory;}Util; F nvmlDeviceGetUtilizationRates(D d,Util*x){x->gpu=60+(int)(35*sin(T()/3+IX(d)));x->memory=40;return 0;}
F nvmlDeviceGetTemperature(D d,u s,u*t){*t=50+IX(d);return 0;} F nvmlDeviceGetTemperatureThreshold(D d,u s,u*t){*t=90;return 0;}
F nvmlDeviceGetPowerUsage(D d,u*p){*p=420000+1000*IX(d);return 0;} F nvmlDeviceGetPowerManagementLimit(D d,u*p){*p=700000;return 0;} F nvmlDeviceGetEnforcedPowerLimit(D d,u*p){*p=700000;return 0;} F nvmlDeviceGetPowerState(D d,u*p){*p=0;return 0;} F nvmlDeviceGetPerformanceState(D d,u*p){*p=0;return 0;}
F nvmlDeviceGetFanSpeed(D d,u*p){return 3;}
F nvmlDeviceGetClockInfo(D d,u t,u*c){*c=t==2?3201:1980;return 0;} F nvmlDeviceGetMaxClockInfo(D d,u t,u*c){*c=t==2?3201:1980;return 0;}
F nvmlDeviceGetPcieThroughput(D d,u c,u*v){*v=c?1200000:300000;return 0;}
F nvmlDeviceGetCurrPcieLinkGeneration(D d,u*v){*v=5;return 0;} F nvmlDeviceGetCurrPcieLinkWidth(D d,u*v){*v=16;return 0;} F nvmlDeviceGetMaxPcieLinkGeneration(D d,u*v){*v=5;return 0;} F nvmlDeviceGetMaxPcieLinkWidth(D d,u*v){*v=16;return 0;}
F nvmlDeviceGetEncoderUtilization(D d,u*a,u*b){*a=0;*b=1000;return 0;} F nvmlDeviceGetDecoderUtilization(D d,u*a,u*b){*a=0;*b=1000;return 0;}
F nvmlDeviceGetPersistenceMode(D d,u*v){*v=1;return 0;} F nvmlDeviceGetDisplayActive(D d,u*v){*v=0;return 0;} F nvmlDeviceGetDisplayMode(D d,u*v){*v=0;return 0;} F nvmlDeviceGetComputeMode(D d,u*v){*v=0;return 0;}
F nvmlDeviceGetMigMode(D d,u*a,u*b){*a=0;*b=0;return 0;} F nvmlDeviceGetMaxMigDeviceCount(D d,u*a){*a=0;return 0;}
F nvmlDeviceGetTotalEccErrors(D d,u a,u b,ull*c){*c=0;return 0;} F nvmlDeviceGetCudaComputeCapability(D d,int*a,int*b){*a=9;*b=0;return 0;}
typedef struct{char busIdLegacy[16];u domain,bus,device,pciDeviceId,pciSubSystemId;char busId[32];}Pci;
F nvmlDeviceGetPciInfo(D d,Pci*p){memset(p,0,sizeof*p);p->bus=0x10+IX(d);snprintf(p->busId,32,"00000000:%02X:00.0",p->bus);snprintf(p->busIdLegacy,16,"0000:%02X:00.0",p->bus);return 0;} F nvmlDeviceGetPciInfo_v2(D d,Pci*p){return nvmlDeviceGetPciInfo(d,p);} F nvmlDeviceGetPciInfo_v3(D d,Pci*p){return nvmlDeviceGetPciInfo(d,p);}
typedef struct{u pid;ull used;u gi,ci;}Proc;
F nvmlDeviceGetComputeRunningProcesses(D d,u*n,Proc*p){const char*e=getenv("FAKE_NVML_PID");if(!e){*n=0;return 0;}if(*n<1){*n=1;return 7;}ull t,us;mem(d,&t,&us);p->pid=atoi(e);p->used=us-(600ULL<<20);p->gi=p->ci=0xFFFFFFFF;*n=1;return 0;}
F nvmlDeviceGetComputeRunningProcesses_v2(D d,u*n,Proc*p){return nvmlDeviceGetComputeRunningProcesses(d,n,p);} F nvmlDeviceGetComputeRunningProcesses_v3(D d,u*n,Proc*p){return nvmlDeviceGetComputeRunningProcesses(d,n,p);}
F nvmlDeviceGetGraphicsRunningProcesses(D d,u*n,Proc*p){*n=0;return 0;} F nvmlDeviceGetGraphicsRunningProcesses_v2(D d,u*n,Proc*p){*n=0;return 0;} F nvmlDeviceGetGraphicsRunningProcesses_v3(D d,u*n,Proc*p){*n=0;return 0;}
F nvmlDeviceGetMPSComputeRunningProcesses_v3(D d,u*n,Proc*p){*n=0;return 0;}
F nvmlDeviceGetProcessUtilization(D d,void*a,u*n,ull t){*n=0;return 6;}
F nvmlDeviceGetTotalEnergyConsumption(D d,ull*v){*v=(ull)(T()*420000);return 0;}
F nvmlDeviceGetDriverModel(D d,u*a,u*b){return 3;} F nvmlDeviceGetDriverModel_v2(D d,u*a,u*b){return 3;} F nvmlDeviceGetMemoryBusWidth(D d,u*b){*b=5120;return 0;} F nvmlDeviceGetNvLinkState(D d,u l,u*s){*s=1;return 0;} F nvmlDeviceGetFieldValues(D d,int n,void*v){return 3;}
